/** The JSON of a GET request, or `fallback` when it fails. Never rejects. */
export function load<Answer>(
  url: string,
  fallback: Answer,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer> {
  // Undefined headers are allowed at run time, but not by the type.
  return fetch(url, { headers: headers as Record<string, string>, credentials: 'omit' })
    .then((response) => (response.ok ? (response.json() as Promise<Answer>) : fallback))
    .catch(() => fallback);
}
