import { anyText, integer, type Setting } from './schemas.ts';

/** Rows of the table of `infra/config.ts` about the bus. */
export const BUS_SETTINGS = {
  NATS_URL: {
    schema: anyText,
    default: '',
    help: 'URL of an external nats-server, with user and password if needed, or those of a cluster, separated by commas. Empty: the launcher starts one',
  },
  NATS_CA_FILE: {
    schema: anyText,
    default: '',
    help: 'for `tls://`: file with the certificates that the servers of the bus are checked by. Empty: those that Node trusts',
  },
  NATS_CERT_FILE: {
    schema: anyText,
    default: '',
    help: 'for `tls://`: file with the certificate that is shown to the bus',
  },
  NATS_KEY_FILE: { schema: anyText, default: '', help: 'file with the key of NATS_CERT_FILE' },
  NATS_CREDENTIALS_FILE: {
    schema: anyText,
    default: '',
    help: 'file with the credentials of a user of the bus, as nsc writes it, or with the seed of an nkey',
  },
  BUS_REPLICAS: {
    schema: integer(1, 5),
    default: '1',
    help: 'on how many servers of a cluster the bus stores everything: 3, so that one may be lost. What exists gets more copies at the next start, and never fewer',
  },
  NATS_SERVER: {
    schema: anyText,
    default: '',
    help: 'path of the nats-server that the launcher starts, 2.10 or newer. Empty: one that it finds or downloads',
  },
} as const satisfies Record<string, Setting>;
