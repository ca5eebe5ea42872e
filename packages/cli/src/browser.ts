import { toLine } from './output.ts';
import { CommandError, EXIT, type Terminal } from './terminal.ts';

/**
 * Opens a page. Only web addresses are opened, because the operating system opens other schemes with other programs.
 * @throws CommandError
 */
export function openPage(terminal: Terminal, address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CommandError(EXIT.failure, 'unsafe_address', `${toLine(address)} is not a web address.`);
  terminal.openBrowser(url.href);
}
