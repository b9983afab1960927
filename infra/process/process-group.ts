import { get } from 'node:http';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Readiness } from '../http/operations.ts';
import type { Metrics } from '../metrics.ts';
import { type HealthWarning, mergedWarnings } from '../network/ignored-forwarding.ts';
import { groupedMetrics } from './grouped-metrics.ts';

const ANSWER_MAX_MS = 2_000;
const ANSWER_MAX_BYTES = 16_777_216;

/** One process of the group, and the loopback port on which it shows its own metrics and readiness. */
export interface GroupMember {
  readonly name: string;
  readonly port: number;
}

/** The part of a process's readiness that the group needs. */
const reportSchema = z.looseObject({
  status: z.string(),
  warnings: z
    .array(
      z.object({
        setting: z.string(),
        message: z.string(),
        requests: z.number(),
        since: z.string(),
        last: z.string(),
      }),
    )
    .default([]),
});
type Report = z.output<typeof reportSchema>;

/** A warning as `/healthz/ready` shows it. */
export type ReportedWarning = Report['warnings'][number];

export interface ProcessGroupOptions {
  /** `HTTP_PROCESSES`, not empty. */
  readonly members: readonly GroupMember[];
  /** The port of this process's own metrics, which distinguishes it from the others. */
  readonly ownPort: number;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
  /** `OPERATIONS_TOKEN`. */
  readonly token: string;
}

/**
 * The processes of one launcher that answer HTTP. The kernel gives a request to any of them, so questions about the service as a whole are
 * answered from all: each shows its own metrics and readiness on a loopback port, and the process that was asked asks the others there.
 */
export class ProcessGroup {
  readonly #members: readonly GroupMember[];
  readonly #ownPort: number;
  readonly #metrics: Metrics;
  readonly #readiness: () => Readiness;
  readonly #token: string;

  constructor({ members, ownPort, metrics, readiness, token }: ProcessGroupOptions) {
    this.#members = members;
    this.#ownPort = ownPort;
    this.#metrics = metrics;
    this.#readiness = readiness;
    this.#token = token;
  }

  get contentType(): string {
    return this.#metrics.contentType;
  }

  /** The metrics of every process that answers, see `groupedMetrics`. */
  async expose(): Promise<string> {
    return groupedMetrics(
      await Promise.all(
        this.#members.map(async ({ name, port }) => ({
          name,
          text: port === this.#ownPort ? this.#metrics.expose() : await this.#ask(port, '/metrics', [200]),
        })),
      ),
    );
  }

  /** Ready when every process is. The details are this process's, with the warnings and the state of all. */
  async readiness(): Promise<Readiness> {
    const own = this.#readiness();
    const ownReport = reportSchema.parse({ ...own.shown, status: statusOf(own.ready) });
    const reports = await Promise.all(
      this.#members.map(async ({ name, port }) => ({
        name,
        report: port === this.#ownPort ? ownReport : await this.#reportOf(port),
      })),
    );
    const warnings = mergedWarnings(reports.flatMap(({ report }) => report.warnings.map(parsedWarning)));
    const processes = reports.map(({ name, report: { warnings: _, ...report } }) => ({ name, ...report }));
    return {
      ready: reports.every(({ report }) => report.status === statusOf(true)),
      shown: { ...own.shown, warnings: warnings.map(reportedWarning), processes },
    };
  }

  async #reportOf(port: number): Promise<Report> {
    const text = await this.#ask(port, '/healthz/ready', [200, 503]);
    const parsed = reportSchema.safeParse(text === undefined ? undefined : jsonIn(text));
    return parsed.success ? parsed.data : { status: 'does not answer', warnings: [] };
  }

  /** The body of an answer with one of these statuses; undefined for any other answer and for none. */
  #ask(port: number, path: string, statuses: readonly number[]): Promise<string | undefined> {
    const headers = this.#token === '' ? {} : { authorization: `Bearer ${this.#token}` };
    const signal = AbortSignal.timeout(ANSWER_MAX_MS);
    return new Promise((resolve) => {
      const nothing = () => resolve(undefined);
      const asked = get({ host: '127.0.0.1', port, path, headers, signal, agent: false }, (answer) => {
        if (!statuses.includes(answer.statusCode ?? 0)) {
          answer.destroy();
          nothing();
          return;
        }
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
          if (text.length > ANSWER_MAX_BYTES) answer.destroy();
        });
        answer.once('end', () => resolve(text));
        answer.once('close', nothing); // Without effect after the end.
        answer.once('error', nothing);
      });
      asked.once('error', nothing);
    });
  }
}

/** The members in `HTTP_PROCESSES`, in their order. */
export function groupMembers({ HTTP_PROCESSES }: Pick<Config, 'HTTP_PROCESSES'>): readonly GroupMember[] {
  return HTTP_PROCESSES.split(',')
    .filter((member) => member !== '')
    .map((member) => {
      const [name = '', port] = member.split('=');
      return { name, port: Number(port) };
    });
}

export function reportedWarning({ since, last, ...warning }: HealthWarning): ReportedWarning {
  return { ...warning, since: new Date(since).toISOString(), last: new Date(last).toISOString() };
}

function parsedWarning({ since, last, ...warning }: ReportedWarning): HealthWarning {
  return { ...warning, since: Date.parse(since), last: Date.parse(last) };
}

function statusOf(ready: boolean): string {
  return ready ? 'ready' : 'not ready';
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
