/** Conditions on the rows of a statement. The text is ours and its values are bound; a condition left out is always true. */
export interface Conditions {
  /** On rows of events, for `$FILTER$`. */
  readonly events?: string;
  /** On hot rows of events, for `$HOT_FILTER$`. */
  readonly hotEvents?: string;
  /** On rows of sessions, for `$SESSION_FILTER$`. */
  readonly sessions?: string;
  /** The filters on events only, for `$EVENT_FILTER$`, in statements that join events with the passing sessions. */
  readonly eventFilter?: string;
  /** The filters on sessions only, for `$PASSING$`, which selects those sessions. */
  readonly passing?: string;
  /** On rows of events without a session, for `$ALONE_FILTER$`. */
  readonly alone?: string;
}
