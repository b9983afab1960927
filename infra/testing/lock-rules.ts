import type { Breach, Tree } from './source-tree.ts';

/** The only entries without a hash: libraries for other platforms that no registry served when the lock file was made. */
const NOT_SERVED: readonly string[] = ['lib-darwin-arm64', 'lib-darwin-x64', 'lib-linux-arm64-gnu'].map(
  (name) => `node_modules/@chdb/${name}`,
);

interface LockedPackage {
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly link?: boolean;
}

/** npm verifies a package only by the hash that the lock file has of it, so each entry needs a strong one. */
export function lockBreaches(tree: Tree, notServed: readonly string[] = NOT_SERVED): Breach[] {
  const path = 'package-lock.json';
  const content = tree.get(path);
  if (content === undefined) return [];
  const { packages } = JSON.parse(content) as { readonly packages: Readonly<Record<string, LockedPackage>> };
  return Object.entries(packages).flatMap(([name, { integrity = '', optional = false, link = false }]) => {
    const isExempt = name === '' || link || (optional && notServed.includes(name));
    if (isExempt || /^sha512-[\w+/]{86}==$/.test(integrity)) return [];
    const line = content.slice(0, content.indexOf(JSON.stringify(name))).split('\n').length;
    return [{ path, line, rule: `${name} has no SHA-512 integrity` }];
  });
}
