import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTSIDE_WAIT_MS } from '../outside.mjs';
import { checkPort } from '../ports.mjs';
import { Problem } from '../problem.mjs';

/** @typedef {import('./examination.mjs').Finding} Finding */
/** @typedef {import('../settings.mjs').LaunchSettings} LaunchSettings */
/**
 * @typedef {object} Readiness what `/healthz/ready` shows
 * @property {string} status `ready`, or what is not
 * @property {readonly { readonly name: string, readonly up: boolean }[]} [dependencies]
 * @property {readonly { readonly setting: string, readonly message: string }[]} [warnings]
 */

/**
 * The service where it runs already, or else the ports that it needs.
 * @param {Pick<LaunchSettings, 'host' | 'port' | 'queries' | 'queryPort' | 'dataDir'>} settings
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Finding[]>}
 */
export async function examineService(settings, env) {
  const { host, port, queries, queryPort, dataDir } = settings;
  const ports = [
    { setting: 'PORT', port },
    ...(queries > 0 ? [{ setting: 'QUERY_PORT', port: queryPort }] : []),
  ];
  const taken = [];
  for (const wanted of ports) {
    const problem = await portProblem(host, wanted.port, wanted.setting);
    if (problem !== '') taken.push({ ...wanted, problem });
  }
  if (taken.length === 0)
    return [{ name: 'ports', state: 'good', text: ports.map((one) => one.port || 'any').join(', ') }];
  const token = env.OPERATIONS_TOKEN || storedToken(dataDir);
  const readiness = await readinessOf(`http://${reachable(host)}:${port}`, token);
  if (readiness !== undefined) return serviceFindings(port, readiness);
  return taken.map(({ problem }) => ({ name: 'ports', state: 'problem', text: problem }));
}

/**
 * @param {number} port
 * @param {Readiness} readiness
 * @returns {Finding[]}
 */
export function serviceFindings(port, { status, dependencies, warnings = [] }) {
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
      /** @returns {Finding} */
      ({ setting, message }) => ({ name: 'service', state: 'advice', text: `${setting}: ${message}` }),
    ),
  ];
}

/**
 * @param {string} host
 * @param {number} port
 * @param {string} setting
 */
async function portProblem(host, port, setting) {
  try {
    await checkPort(host, port, setting);
    return '';
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

/**
 * Undefined where something else has the port.
 * @param {string} url
 * @param {string} token
 * @returns {Promise<Readiness | undefined>}
 */
async function readinessOf(url, token) {
  try {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/healthz/ready`, {
      headers,
      signal: AbortSignal.timeout(OUTSIDE_WAIT_MS),
    });
    const shown = /** @type {Readiness} */ (await response.json());
    return response.headers.has('service-version') ? shown : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} dataDir */
function storedToken(dataDir) {
  try {
    const { operationsToken } = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'));
    return typeof operationsToken === 'string' ? operationsToken : '';
  } catch {
    return '';
  }
}

/** @param {string} host */
function reachable(host) {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
