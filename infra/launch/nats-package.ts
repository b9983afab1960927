import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { releaseName, unpackPackage } from './debian-package.ts';
import { type NatsServer, probeNatsServer } from './nats-version.ts';

/**
 * Unpacks the distribution's nats-server into `cache`. A Debian whose own nats-server is older than 2.10 takes the next release's, which
 * runs there too, because it is statically linked.
 */
export async function natsFromPackage(
  cache: string,
  note: (text: string) => void,
  failures: string[],
): Promise<NatsServer | undefined> {
  const next = releaseName('next');
  const label = `package of ${next ?? releaseName('own')}`;
  const scratch = join(cache, `scratch-package-${process.pid}`);
  try {
    note(`unpacking the ${label}`);
    const unpacked = await unpackPackage({
      name: 'nats-server',
      which: next === undefined ? 'own' : 'next',
      scratch,
    });
    const program = ['usr/sbin/nats-server', 'usr/bin/nats-server'].find((path) =>
      existsSync(join(unpacked, path)),
    );
    if (program === undefined) throw new Error('the package contains no nats-server');
    const server = await probeNatsServer(join(unpacked, program), `from the ${label}`);
    if (server === undefined) throw new Error('it is older than 2.10, or does not run on this machine');
    return moveToCache(server, cache);
  } catch (error) {
    failures.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function moveToCache(server: NatsServer, cache: string): NatsServer {
  const folder = join(cache, `nats-server-${server.version}`);
  const path = join(folder, 'nats-server');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  renameSync(server.path, path);
  return { ...server, path };
}
