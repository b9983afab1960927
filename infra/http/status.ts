/** Status lines that the service uses. */
const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  302: '302 Found',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  408: '408 Request Timeout',
  409: '409 Conflict',
  412: '412 Precondition Failed',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};

/** The status line of a response, without the version of HTTP. */
export function statusLine(status: number): string {
  return STATUS_LINES[status] ?? String(status);
}

/** The body of every error answer. */
export function errorText(status: number, message: string): string {
  return JSON.stringify({ status, error: statusLine(status).slice(4), message });
}
