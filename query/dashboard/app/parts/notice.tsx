import type { ComponentChildren } from 'preact';
import type { AnswerError } from '../data/service.ts';

/** Says why there is no answer, and offers another attempt. */
export function Failure({ error, retry }: { readonly error: AnswerError; readonly retry: () => void }) {
  const isPassing = error.status === 0 || error.status === 429 || error.status >= 500;
  return (
    <div class="notice" role="alert">
      <p>{error.message}</p>
      {isPassing && <p class="quiet">It is asked again by itself.</p>}
      <button type="button" class="button" onClick={retry}>
        Ask again
      </button>
    </div>
  );
}

/** Says that there is nothing to show, and how to change that. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="notice quiet">
      <p>{children}</p>
    </div>
  );
}

/** Placeholder lines for rows that are loading. */
export function Loading({ rows }: { readonly rows: number }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <span class="loading-row" key={index} />
      ))}
    </div>
  );
}

/** Marks an answer that leaves something out. */
export function PartialMark() {
  return (
    <p class="partial" role="status">
      Partial: some data cannot be reached now. The figures will be complete once it can.
    </p>
  );
}
