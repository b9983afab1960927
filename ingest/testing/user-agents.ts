import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';
import type { Software } from '../enrich/user-agent.ts';
import chosen from './user-agents.json' with { type: 'json' };
import logged from './user-agents-log.json' with { type: 'json' };
import recent from './user-agents-recent.json' with { type: 'json' };

/** A user agent with its labels; `?` where it is not labelled. */
export interface ReadAgent {
  readonly userAgent: string;
  readonly expected: Readonly<Record<keyof Software, string>>;
}

export interface ReadBot {
  readonly userAgent: string;
  readonly type: string;
  readonly name: string;
}

/** The sample log lies beside the project and is never copied into it. Without it, its user agents are left out. */
const SAMPLE_LOG = join(projectRoot, '../shared/data/access-log-sample.log');
export const HAS_SAMPLE_LOG: boolean = existsSync(SAMPLE_LOG);

/** All labelled user agents except bots; the log's when the log exists. */
export const READ_AGENTS: readonly ReadAgent[] = [
  ...[chosen, recent].flatMap(({ agents }) => agents.map(agentIn)),
  ...fromLog(logged.agents.map(agentIn)),
];

/** The labelled bots of the log; none without the log. */
export const READ_BOTS: readonly ReadBot[] = fromLog(
  logged.bots.map((line) => {
    const [type = '', name = '', userAgent = ''] = fieldsOf(line, 3);
    return { userAgent, type, name };
  }),
);

/** Replaces each digest by the log's own text. */
function fromLog<Read extends { readonly userAgent: string }>(read: readonly Read[]): Read[] {
  if (!HAS_SAMPLE_LOG) return [];
  const byDigest = new Map<string, string>();
  for (const line of readFileSync(SAMPLE_LOG, 'utf8').split('\n')) {
    const userAgent = /"([^"]*(?:\\.[^"]*)*)"\s*$/.exec(line)?.[1];
    if (userAgent !== undefined) byDigest.set(digestOf(userAgent), userAgent);
  }
  return read.map((each) => ({ ...each, userAgent: byDigest.get(each.userAgent) ?? 'not in the log' }));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function agentIn(line: string): ReadAgent {
  const [
    browser = '',
    browserVersion = '',
    os = '',
    osVersion = '',
    device = '',
    brand = '',
    model = '',
    userAgent = '',
  ] = fieldsOf(line, 8);
  return { userAgent, expected: { browser, browserVersion, os, osVersion, device, brand, model } };
}

/** The last field, the user agent, may contain the separator. */
function fieldsOf(line: string, count: number): string[] {
  const parts = line.split(' | ');
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(' | ')];
}
