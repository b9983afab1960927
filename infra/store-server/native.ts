import { createRequire } from 'node:module';

/** An open connection of the addon. */
export type NativeConnection = { readonly nativeConnection: never };

export interface NativeResult {
  readonly bytes: Buffer;
  /** Seconds. */
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
}

export interface NativeWrite {
  readonly elapsed: number;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
}

/** The part of chDB's addon that is used. Calls that return a promise run on libuv threads, one thread each. */
export interface Native {
  CreateConnection(path: string, args: readonly string[]): NativeConnection;
  CloseConnection(connection: NativeConnection): void;
  QueryAsyncConnection(connection: NativeConnection, sql: string, format: string): Promise<NativeResult>;
  InsertRawAsyncConnection(
    connection: NativeConnection,
    prefix: string,
    rest: Buffer,
    countLines: boolean,
  ): Promise<NativeWrite>;
}

/**
 * Loads the addon itself through chDB's own loader. chDB's `Session` is not sufficient: it defers every close until no
 * call of the whole process runs, so one long query would keep all closed connections alive, and it does not report the
 * rows written by inserts from a file.
 */
export function loadNative(): Native {
  const require = createRequire(import.meta.url);
  const requireFromChdb = createRequire(require.resolve('chdb/package.json'));
  return (requireFromChdb('./dist/loader.js') as { loadNative(): Native }).loadNative();
}
