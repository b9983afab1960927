// The script's numbers, in a file without imports, so that the bundler inlines them.

/** Calls that wait for `init` at most. */
export const EARLY_COMMANDS_MAX = 100;
/** Calls in the queue at most; beyond it the oldest are dropped. */
export const QUEUE_MAX = 100;
/** Retries of one call, not counting tries while the browser is offline. */
export const TRIES_MAX = 10;
/** An event that waited longer than this carries its own timestamp. */
export const TIMESTAMP_AFTER_MS = 1000;
/** The maximum delay between two tries, for any answer of the server. */
export const RETRY_MAX_MS = 3_600_000;
/**
 * Maximum characters of a body sent with `keepalive`: browsers allow 64 KiB at a time, and a character has three bytes
 * at most.
 */
export const KEEPALIVE_MAX = 20_000;
/** The delay in which a router may correct an address and set the title. */
export const ROUTER_DELAY_MS = 50;
/** Maximum characters of a link's text. */
export const LINK_TEXT_MAX = 200;
