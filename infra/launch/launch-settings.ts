import { type Config, ConfigError, type GivenSettings, givenSettings, readConfig } from '../config.ts';
import { listed } from '../store/listed.ts';
import { Problem } from './problem.mjs';

const EXAMPLES = {
  BASE_URL: 'https://analytics.example.com',
  NATS_URL: 'nats://user:password@host:4222',
  CLICKHOUSE_URL: 'http://user:password@host:8123',
} as const;

/** The environment with the settings file. Throws a `Problem` that names file, line and setting. */
export function launchEnvironment(env: NodeJS.ProcessEnv): GivenSettings {
  return orProblem(() => givenSettings(env));
}

/** The settings of a start. Throws a `Problem` that names the first one that cannot be used. */
export function readLaunchSettings({ env, places }: GivenSettings): Config {
  const settings = orProblem(() => readConfig(env));
  const named = (name: keyof Config) => (places.has(name) ? `${places.get(name)}: ${name}` : name);
  checkCollectors(named('COLLECTORS'), settings.COLLECTORS, process.platform);
  for (const name of ['BASE_URL', 'NATS_URL', 'CLICKHOUSE_URL'] as const)
    if (!isAddress(name, settings[name]))
      // The value is not shown, because it may contain a password.
      throw new Problem(`${named(name)} is not a valid URL such as ${EXAMPLES[name]}.`);
  if (settings.NATS_URL !== '' && settings.SECRETS_KEY === '')
    throw new Problem(
      'SECRETS_KEY is needed beside NATS_URL, since every process on that bus must have the same. Set it to 64 hexadecimal digits, such as `openssl rand -hex 32` prints.',
    );
  return settings;
}

function orProblem<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new Problem(`${error.message}.`);
    throw error;
  }
}

/** Only Linux spreads the connections to a port over the processes that listen on it. */
export function checkCollectors(named: string, collectors: number, platform: NodeJS.Platform): void {
  if (collectors === 1 || platform === 'linux') return;
  throw new Problem(
    `${named} is ${collectors}, but several processes can share a port only on Linux. Set it to 1.`,
  );
}

function isAddress(name: keyof typeof EXAMPLES, text: string): boolean {
  if (text === '') return true;
  const scheme = name === 'NATS_URL' ? /^(nats|tls):\/\/./ : /^https?:\/\/./;
  const urls = name === 'CLICKHOUSE_URL' ? listed(text) : [text.split(',')[0] ?? ''];
  return scheme.test(text) && urls.every((url) => scheme.test(url) && URL.canParse(url));
}
