package discordtest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/disgoorg/disgo/rest"
)

// apiError is a refusal as Discord words it.
type apiError struct {
	status     int
	code       rest.JSONErrorCode
	message    string
	retryAfter time.Duration // with status 429
	silent     bool          // injected by a test, so no violation
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%d: %s (%d)", e.status, e.message, e.code)
}

func refuse(status int, code rest.JSONErrorCode, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

// invalid is a body that breaks a rule of its own fields.
func invalid(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, rest.JSONErrorCodeInvalidFormBody,
		"Invalid Form Body: "+fmt.Sprintf(format, args...))
}

var (
	errUnauthorized       = refuse(http.StatusUnauthorized, rest.JSONErrorCodeGeneral, "401: Unauthorized")
	errNoRoute            = refuse(http.StatusNotFound, rest.JSONErrorCodeGeneral, "404: Not Found")
	errUnknownChannel     = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownChannel, "Unknown Channel")
	errUnknownGuild       = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownGuild, "Unknown Guild")
	errUnknownMember      = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownMember, "Unknown Member")
	errUnknownMessage     = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownMessage, "Unknown Message")
	errUnknownUser        = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownUser, "Unknown User")
	errUnknownEmoji       = refuse(http.StatusBadRequest, rest.JSONErrorCodeUnknownEmoji, "Unknown Emoji")
	errUnknownWebhook     = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownWebhook, "Unknown Webhook")
	errUnknownInteraction = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownInteraction, "Unknown interaction")
	errUnknownCommand     = refuse(http.StatusNotFound, rest.JSONErrorCodeUnknownApplicationCommand, "Unknown application command")
	errAcknowledged       = refuse(http.StatusBadRequest, rest.JSONErrorCodeInteractionAlreadyAcknowledged, "Interaction has already been acknowledged.")
	errWebhookToken       = refuse(http.StatusUnauthorized, rest.JSONErrorCodeInvalidWebhookToken, "Invalid Webhook Token")
	errMissingAccess      = refuse(http.StatusForbidden, rest.JSONErrorCodeMissingAccess, "Missing Access")
	errMissingPermissions = refuse(http.StatusForbidden, rest.JSONErrorCodeLackPermissionsToPerformAction, "Missing Permissions")
	errNotAuthor          = refuse(http.StatusForbidden, rest.JSONErrorCodeCannotEditMessageAuthoredByAnotherUser, "Cannot edit a message authored by another user")
	errEmptyMessage       = refuse(http.StatusBadRequest, rest.JSONErrorCodeCannotSendEmptyMessage, "Cannot send an empty message")
	errNotText            = refuse(http.StatusBadRequest, rest.JSONErrorCodeCannotSendMessagesInNonTextChannel, "Cannot send messages in a non-text channel")
	errChannelType        = refuse(http.StatusBadRequest, rest.JSONErrorCodeCannotExecuteActionOnThisChannelType, "Cannot execute action on this channel type")
	errArchived           = refuse(http.StatusBadRequest, rest.JSONErrorCodeOperationOnArchivedThread, "Thread is archived")
	errThreadExists       = refuse(http.StatusBadRequest, rest.JSONErrorCodeThreadAlreadyCreatedForMessage, "A thread has already been created for this message")
	errThreadLocked       = refuse(http.StatusForbidden, rest.JSONErrorCodeThreadLocked, "Thread is locked")
)

// rateLimited is a 429 that is over after the given time.
func rateLimited(after time.Duration) *apiError {
	return &apiError{status: http.StatusTooManyRequests, message: "You are being rate limited.", retryAfter: after}
}
