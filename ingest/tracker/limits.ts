// The numbers of the script, in a file without imports: the bundler then writes them where they are used.

/** Calls that are kept before `init`. */
export const EARLY_COMMANDS_MAX = 100;
/** Calls on their way; of more, the oldest are given up. */
export const QUEUE_MAX = 100;
/** Tries of one call, not counting those while the browser is offline. */
export const TRIES_MAX = 10;
/** A wait after which an event says itself when it happened. */
export const TIMESTAMP_AFTER_MS = 1000;
/** The longest wait between two tries, however long the server asks for. */
export const RETRY_MAX_MS = 3_600_000;
/** Characters of a body that may outlive its page: the browser lets 64 KiB at a time, and a character has three bytes at the most. */
export const KEEPALIVE_MAX = 20_000;
/** The moment that a router has to correct an address and to set the title. */
export const ROUTER_DELAY_MS = 50;
/** Characters of a link's text. */
export const LINK_TEXT_MAX = 200;
