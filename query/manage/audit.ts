import type { AuditEntry } from '../audit/audit-entry.ts';
import { AUDIT_LIMITS } from '../audit/audit-log.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { userKeyOf } from '../sign-in/user-record.ts';
import { type AuditEntryShown, auditAnswer, auditQuery } from './audit-api.ts';
import type { EndpointDeps } from './manage.ts';

/** `/manage/audit`: actions below `/manage` and by commands. */
export function auditEndpoint({
  audit,
  accounts,
  catalog,
}: Pick<EndpointDeps, 'audit' | 'accounts' | 'catalog'>): AnyEndpoint {
  const shown = ({ version: _version, number: _number, clientId, ...entry }: AuditEntry): AuditEntryShown => {
    const isUser = entry.actor === 'user';
    return {
      ...entry,
      clientId: isUser ? null : clientId,
      clientName: isUser ? null : (entry.clientName ?? accounts.client(clientId ?? '')?.name ?? null),
      userId: isUser ? clientId : null,
      userName: isUser ? (catalog.users.get(userKeyOf(clientId ?? ''))?.name ?? null) : null,
    };
  };
  return anyEndpoint({
    method: 'get',
    pattern: '/manage/audit',
    kind: 'manage-audit',
    area: 'manage',
    about: {
      summary: 'Read the audit log',
      description: [
        'Lists every change that was made through `/manage` or by a command of the administrator, the newest first: who, what, when and with which result. An entry is durable before the change begins and holds its result before the change is answered. Values, secrets, addresses and people are not in it.',
        `With \`rejected=true\` lists what clients of the team tried and may not do (403) instead. Requests with a wrong secret are in neither list. Entries are stored for 400 days, at most the last ${AUDIT_LIMITS.changes.toLocaleString('en')} changes and the last ${AUDIT_LIMITS.rejected.toLocaleString('en')} rejected requests of a team. With filters a page may have fewer entries than \`limit\`, or none, before the last one: continue while there is a \`nextCursor\`.`,
      ].join('\n\n'),
      answer: auditAnswer,
    },
    schema: auditQuery,
    body: undefined,
    answer: async ({ client, parameters }) => {
      const { projectId, clientId, from, to, rejected, limit, cursor } = parameters;
      const action = parameters.action?.toLowerCase();
      const isWanted = (entry: AuditEntry) => {
        const atMs = Date.parse(entry.at);
        return (
          (projectId === undefined || entry.projectId === projectId) &&
          (clientId === undefined || entry.clientId === clientId) &&
          (action === undefined || entry.action.toLowerCase().includes(action)) &&
          (from === undefined || atMs >= from) &&
          (to === undefined || atMs < to)
        );
      };
      const before = cursor ?? Number.MAX_SAFE_INTEGER;
      const list = rejected ? 'rejected' : 'changes';
      const page = await audit.page(client.teamId, list, { before, limit, isWanted });
      return {
        json: {
          data: page.entries.map(shown),
          nextCursor: page.next === undefined ? null : String(page.next),
        },
      };
    },
  });
}
