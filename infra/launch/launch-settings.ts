import { type Config, ConfigError, readConfig } from '../config.ts';
import { listed } from '../store/listed.ts';
import { Problem } from './problem.mjs';

const EXAMPLES = {
  BASE_URL: 'https://analytics.example.com',
  NATS_URL: 'nats://user:password@host:4222',
  CLICKHOUSE_URL: 'http://user:password@host:8123',
} as const;

/** The settings of a start. Throws a `Problem` that names the first one that cannot be used. */
export function readLaunchSettings(env: Readonly<Record<string, string | undefined>>): Config {
  const settings = knownSettings(env);
  checkCollectors(settings.COLLECTORS, process.platform);
  for (const name of ['BASE_URL', 'NATS_URL', 'CLICKHOUSE_URL'] as const) checkAddress(name, settings[name]);
  if (settings.NATS_URL !== '' && settings.SECRETS_KEY === '')
    throw new Problem(
      'SECRETS_KEY is needed beside NATS_URL, since every process on that bus must have the same. Set it to 64 hexadecimal digits, such as `openssl rand -hex 32` prints.',
    );
  return settings;
}

function knownSettings(env: Readonly<Record<string, string | undefined>>): Config {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) throw new Problem(`${error.message}.`);
    throw error;
  }
}

/** Only Linux spreads the connections to a port over the processes that listen on it. */
export function checkCollectors(collectors: number, platform: NodeJS.Platform): void {
  if (collectors === 1 || platform === 'linux') return;
  throw new Problem(
    `COLLECTORS is ${collectors}, but several processes can share a port only on Linux. Set it to 1.`,
  );
}

/** The value of a bad URL is not shown, because it may contain a password. */
function checkAddress(name: keyof typeof EXAMPLES, text: string): void {
  if (text === '') return;
  const scheme = name === 'NATS_URL' ? /^(nats|tls):\/\/./ : /^https?:\/\/./;
  const urls = name === 'CLICKHOUSE_URL' ? listed(text) : [text.split(',')[0] ?? ''];
  if (scheme.test(text) && urls.every((url) => scheme.test(url) && URL.canParse(url))) return;
  throw new Problem(`${name} is not a valid URL such as ${EXAMPLES[name]}.`);
}
