import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { OUTSIDE_WAIT_MS } from '../outside.ts';
import { checkPort } from '../ports.ts';
import { Problem } from '../problem.mjs';
import type { Finding } from './findings.mjs';

/** The content of `/healthz/ready`. */
interface ShownReadiness {
  /** `ready`, or `not ready`. */
  readonly status: string;
  readonly dependencies?: readonly { readonly name: string; readonly up: boolean }[];
  readonly warnings?: readonly { readonly setting: string; readonly message: string }[];
}

type ServiceSettings = Pick<
  Config,
  'HOST' | 'PORT' | 'QUERIES' | 'QUERY_PORT' | 'DATA_DIR' | 'OPERATIONS_TOKEN'
>;

/** The service where it runs already, or else the ports that it needs. */
export async function examineService(settings: ServiceSettings): Promise<Finding[]> {
  const { HOST: host, PORT: port } = settings;
  const ports = [
    { setting: 'PORT', port },
    ...(settings.QUERIES > 0 ? [{ setting: 'QUERY_PORT', port: settings.QUERY_PORT }] : []),
  ];
  const taken = [];
  for (const wanted of ports) {
    const problem = await portProblem(host, wanted.port, wanted.setting);
    if (problem !== '') taken.push({ ...wanted, problem });
  }
  if (taken.length === 0)
    return [{ name: 'ports', state: 'good', text: ports.map((one) => one.port || 'any').join(', ') }];
  const token = settings.OPERATIONS_TOKEN || storedToken(settings.DATA_DIR);
  const readiness = await readinessOf(`http://${reachable(host)}:${port}`, token);
  if (readiness !== undefined) return serviceFindings(port, readiness);
  return taken.map(({ problem }) => ({ name: 'ports', state: 'problem', text: problem }));
}

export function serviceFindings(
  port: number,
  { status, dependencies, warnings = [] }: ShownReadiness,
): Finding[] {
  const away = dependencies?.filter(({ up }) => !up).map(({ name }) => name) ?? [];
  const at = `footfall runs at port ${port}`;
  const closed = dependencies === undefined ? '; its details need OPERATIONS_TOKEN' : '';
  return [
    status === 'ready'
      ? { name: 'service', state: 'good', text: `${at} and is ready${closed}` }
      : {
          name: 'service',
          state: 'problem',
          text: `${at} and is not ready${away.length > 0 ? `: ${away.join(', ')} away` : closed}`,
        },
    ...warnings.map(
      ({ setting, message }): Finding => ({
        name: 'service',
        state: 'advice',
        text: `${setting}: ${message}`,
      }),
    ),
  ];
}

async function portProblem(host: string, port: number, setting: string) {
  try {
    await checkPort(host, port, setting);
    return '';
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

/** Undefined where something else has the port. */
async function readinessOf(url: string, token: string): Promise<ShownReadiness | undefined> {
  try {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/healthz/ready`, {
      headers,
      signal: AbortSignal.timeout(OUTSIDE_WAIT_MS),
    });
    const shown = (await response.json()) as ShownReadiness;
    return response.headers.has('service-version') ? shown : undefined;
  } catch {
    return undefined;
  }
}

function storedToken(dataDir: string) {
  try {
    const { operationsToken } = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'));
    return typeof operationsToken === 'string' ? operationsToken : '';
  } catch {
    return '';
  }
}

function reachable(host: string) {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
