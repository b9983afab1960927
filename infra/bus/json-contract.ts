import type { z } from 'zod';
import { DecodeError } from './decode-error.ts';

/** A JSON format on the bus or in a bucket. Values are objects that name their version; one without has version 0. */
export interface JsonContract<Value> {
  /** The name in errors, such as `entity question`. */
  readonly name: string;
  /** Versions that can be read, the written one last. */
  readonly versions: readonly number[];
  readonly schema: z.ZodType<Value>;
}

/** @throws {DecodeError} */
export function decodeJsonContract<Value>(bytes: Uint8Array, contract: JsonContract<Value>): Value {
  const value = parseJson(bytes, contract.name);
  const version = versionOf(value);
  if (!contract.versions.includes(version as number))
    throw new DecodeError(`${contract.name} has version ${String(version).slice(0, 20)}`, 'version');
  const parsed = contract.schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new DecodeError(`${contract.name}: ${issue?.path.join('.')}: ${issue?.message}`);
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DecodeError(`${name} is not JSON`, 'malformed', { cause });
  }
}

function versionOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'version' in value ? value.version : 0;
}
