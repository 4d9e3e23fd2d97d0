// The workspace adapter "threadtree": OpenCode is told of a worktree that
// exists already. Nothing here makes, moves or deletes anything.
import { execFile } from "node:child_process"
import { realpath } from "node:fs/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

// given is what the caller passed for the workspace. What is wrong with it is
// said here, before OpenCode has written a row that would have to go again.
function given(info) {
  const extra = info.extra
  for (const key of ["path", "repo", "name"]) {
    if (typeof extra?.[key] !== "string" || extra[key] === "") throw new Error(`extra.${key} is missing`)
  }
  return extra
}

async function git(directory, ...args) {
  const env = { ...process.env }
  for (const key of Object.keys(env)) if (key.startsWith("GIT_")) delete env[key]
  const { stdout } = await run("git", ["-C", directory, "rev-parse", "--path-format=absolute", ...args], { env, timeout: 20_000 })
  return stdout.replace(/\n$/, "").split("\n")
}

export const ThreadTree = async ({ experimental_workspace }) => {
  experimental_workspace?.register("threadtree", {
    name: "threadtree",
    description: "A git worktree that threadtree made for a thread",
    configure(info) {
      const extra = given(info)
      return { ...info, name: extra.name, branch: extra.branch || null, directory: extra.path }
    },
    async create(info) {
      const extra = given(info)
      const path = await realpath(extra.path)
      const [[top, own, common], [project]] = await Promise.all([
        git(path, "--show-toplevel", "--git-dir", "--git-common-dir"),
        git(extra.repo, "--git-common-dir"),
      ])
      if ((await realpath(top)) !== path) throw new Error(`${extra.path} is not the top of a worktree`)
      if ((await realpath(own)) === (await realpath(common))) throw new Error(`${extra.path} is the main checkout`)
      if ((await realpath(project)) !== (await realpath(common))) throw new Error(`${extra.path} belongs to another repository than ${extra.repo}`)
    },
    async remove() {},
    // Sessions work in the project's subdirectory, where it has one.
    target: (info) => ({ type: "local", directory: info.extra?.work || info.directory }),
  })
  return {
    // No command needs the server's password. The server is started without npm's network so that it doesn't wait for
    // it; what an agent runs shall have it.
    "shell.env": async (_, output) => {
      output.env.OPENCODE_SERVER_PASSWORD = ""
      if (process.env.THREADTREE_NPM_OFFLINE) {
        output.env.NPM_CONFIG_OFFLINE = process.env.THREADTREE_NPM_OFFLINE === "unset" ? "false" : process.env.THREADTREE_NPM_OFFLINE
      }
    },
  }
}
