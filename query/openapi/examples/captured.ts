import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../../../infra/root.ts';
import type { DescribedOperation, Operation } from '../operation.ts';
import { FAILURE } from './by-hand.ts';
import type { CapturedExample, ErrorExample } from './example.ts';

/** Written by `bench/openapi/examples`: a file for each tag, and one for the errors. */
export const CAPTURED_FOLDER = join(projectRoot, 'query/openapi/examples/captured');
export const ERRORS_FILE = 'errors.json';

const texts = z.record(z.string(), z.string());
const errorsSchema = z.record(
  z.string(),
  z.object({ status: z.number(), error: z.string(), message: z.string() }),
);
const fileSchema = z.record(
  z.string(),
  z.array(
    z.object({
      title: z.string(),
      path: texts,
      query: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
      body: z.unknown().optional(),
      status: z.number(),
      answer: z.unknown().optional(),
    }),
  ),
);

/** The examples of the documentation. */
export interface Examples {
  /** By method and pattern, such as `get /manage/projects`. */
  readonly byOperation: ReadonlyMap<string, readonly CapturedExample[]>;
  /** By status. */
  readonly errors: ReadonlyMap<number, ErrorExample>;
}

export async function readExamples(): Promise<Examples> {
  const byOperation = new Map<string, readonly CapturedExample[]>();
  const errors = new Map<number, ErrorExample>([[FAILURE.status, FAILURE]]);
  for (const name of await readdir(CAPTURED_FOLDER)) {
    const json: unknown = JSON.parse(await readFile(join(CAPTURED_FOLDER, name), 'utf8'));
    if (name === ERRORS_FILE) {
      for (const error of Object.values(errorsSchema.parse(json))) errors.set(error.status, error);
    } else {
      for (const [operation, captured] of Object.entries(fileSchema.parse(json)))
        byOperation.set(operation, captured);
    }
  }
  return { byOperation, errors };
}

/** The operation with its examples: parameters of the first request, the bodies of all that succeeded, and the first answer of each status. */
export function withExamples(described: DescribedOperation, { byOperation }: Examples): Operation {
  const captured = byOperation.get(`${described.method} ${described.pattern}`) ?? [];
  const { body, answers } = described;
  const bodies = captured.filter((one) => one.status === 200 && one.body !== undefined);
  return {
    ...described,
    body:
      body === undefined
        ? undefined
        : { ...body, examples: Object.fromEntries(bodies.map((one) => [one.title, one.body])) },
    answers: answers.map((answer) => ({
      ...answer,
      example: captured.find(({ status }) => status === answer.status)?.answer,
    })),
    path: captured[0]?.path ?? {},
    query: captured[0]?.query ?? {},
  };
}
