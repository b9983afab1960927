import { connect } from 'node:net';

/**
 * Sends bytes to a port of this machine and resolves with everything that is answered until the connection ends, or until
 * `isEnough`. Each packet is sent after the one before.
 */
export function rawExchange(
  port: number,
  packets: readonly string[],
  isEnough = (_text: string) => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let text = '';
    const over = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
      if (isEnough(text)) over();
    });
    socket.once('close', over);
    socket.once('error', (error) => (text === '' ? reject(error) : over()));
    const send = (index: number) => {
      const packet = packets[index];
      if (packet === undefined || socket.destroyed) return;
      // Its own packet: the next one waits until the server has had time to read.
      socket.write(packet, 'latin1', () => setTimeout(() => send(index + 1), 20));
    };
    socket.once('connect', () => send(0));
  });
}
