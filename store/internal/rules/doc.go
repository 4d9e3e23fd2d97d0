// Package rules holds what every store has to decide alike: whether a guard
// holds, what a change makes of a row, which rows claim the same directory or
// branch, which rows a query selects, and how each refusal is told. It keeps
// nothing and touches nothing; the stores call it with a transaction open.
package rules
