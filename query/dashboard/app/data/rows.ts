import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { AnswerError, askPage } from './service.ts';

/** Maximum number of rows kept in the page; filters find the others. */
const ROWS_MAX = 1_000;

/** A list that grows by a page at a time. */
export interface GrowingList<Row> {
  /** Undefined until the first page is known. */
  readonly rows: readonly Row[] | undefined;
  readonly error: AnswerError | undefined;
  /** Loads the next page; undefined where there is none, or where enough is shown. */
  readonly more: (() => void) | undefined;
  readonly retry: () => void;
}

interface Grown<Row> {
  readonly address: string;
  readonly rows?: readonly Row[];
  readonly next?: string | undefined;
  readonly error?: AnswerError;
}

/** Follows a list whose address has a query. Another address begins anew. */
export function useRows<Row>(address: string): GrowingList<Row> {
  const state = useSignal<Grown<Row>>({ address });
  const load = async (cursor: string | undefined, before: readonly Row[]) => {
    const asked = cursor === undefined ? address : `${address}&cursor=${encodeURIComponent(cursor)}`;
    try {
      const { rows, next } = await askPage<Row>(asked);
      if (state.peek().address === address) state.value = { address, rows: [...before, ...rows], next };
    } catch (error) {
      const failure = error instanceof AnswerError ? error : new AnswerError(0, String(error));
      if (state.peek().address === address) state.value = { ...state.peek(), error: failure };
    }
  };
  useEffect(() => {
    state.value = { address };
    void load(undefined, []);
  }, [address]);
  const { rows, next, error } =
    state.value.address === address ? state.value : { rows: undefined, next: undefined, error: undefined };
  return {
    rows,
    error,
    more:
      next !== undefined && rows !== undefined && rows.length < ROWS_MAX
        ? () => void load(next, rows)
        : undefined,
    retry: () => {
      state.value = { address };
      void load(undefined, []);
    },
  };
}
