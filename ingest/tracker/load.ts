/** What the service answers to a GET, `fallback` when it cannot be had. Never rejects. */
export function load<Answer>(
  url: string,
  fallback: Answer,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer> {
  // An absent `headers` is as good as none, but the type does not say so.
  return fetch(url, { headers: headers as Record<string, string>, credentials: 'omit' })
    .then((response) => (response.ok ? (response.json() as Promise<Answer>) : fallback))
    .catch(() => fallback);
}
