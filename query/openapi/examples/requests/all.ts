import type { ShownRequest } from '../example.ts';
import { CONNECTING_REQUESTS, DELIVERING_REQUESTS, SEARCH_CONSOLE_REQUESTS } from './connections.ts';
import { EXPORT_REQUESTS, INSIGHT_REQUESTS } from './insights.ts';
import {
  CHANGING_REQUESTS,
  DELETING_REQUESTS,
  ERASED_REQUESTS,
  ERASING_REQUESTS,
  MAKING_REQUESTS,
} from './manage.ts';
import {
  ERROR_REQUESTS,
  LIVE_REQUESTS,
  OPERATIONS_REQUESTS,
  SIGN_IN_REQUESTS,
  STORE_AWAY_ERRORS,
  STORE_AWAY_REQUESTS,
} from './service.ts';
import { EXCLUDED_REQUESTS, TRACK_REQUESTS } from './track.ts';

/**
 * The requests of all operations, in the order in which they are sent. Questions come before `TRACK_REQUESTS`, whose events have the time
 * of the run; the erasure comes after the delivery of these events.
 */
const USUAL: readonly ShownRequest[] = [
  ...EXCLUDED_REQUESTS,
  ...MAKING_REQUESTS,
  ...LIVE_REQUESTS,
  ...INSIGHT_REQUESTS,
  ...EXPORT_REQUESTS,
  ...CONNECTING_REQUESTS,
  ...TRACK_REQUESTS,
  ...DELIVERING_REQUESTS,
  ...ERASING_REQUESTS,
  ...OPERATIONS_REQUESTS,
  ...SIGN_IN_REQUESTS,
  ...SEARCH_CONSOLE_REQUESTS,
  ...CHANGING_REQUESTS,
  ...ERASED_REQUESTS,
  ...DELETING_REQUESTS,
];

/** Requests for answers and for errors, before and after the store is stopped. */
export const SHOWN_REQUESTS = {
  usual: { answers: USUAL, errors: ERROR_REQUESTS },
  storeAway: { answers: STORE_AWAY_REQUESTS, errors: STORE_AWAY_ERRORS },
};
