import type { ErrorExample } from './example.ts';

/** The one example that is written by hand: no request makes the service fail. */
export const FAILURE: ErrorExample = {
  status: 500,
  error: 'Internal Server Error',
  message: 'the service failed; the error has been logged',
};
