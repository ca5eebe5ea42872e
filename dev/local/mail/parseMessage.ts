/** A message with its text and HTML, decoded. */
export interface ParsedMessage {
  /** Values by the name in lower case. */
  headers: ReadonlyMap<string, string>;
  text: string;
  html: string;
}

/** Parses a message with a plain-text and an HTML part, in the encodings that nodemailer uses. */
export function parseMessage(raw: string): ParsedMessage {
  const { headers, body } = splitHeaders(raw);
  const parts = listParts(headers, body);
  const find = (type: string) => parts.find((part) => part.type === type)?.content ?? '';
  return { headers, text: find('text/plain'), html: find('text/html') };
}

interface Part {
  type: string;
  content: string;
}

function listParts(headers: ReadonlyMap<string, string>, body: string): Part[] {
  const contentType = headers.get('content-type') ?? 'text/plain';
  const boundary = /boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) {
    const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
    return [{ type, content: decodeBody(body, headers.get('content-transfer-encoding') ?? '7bit') }];
  }
  // Before the first boundary is a preamble, after the last one two dashes.
  const sections = body.split(`--${boundary}`).slice(1, -1);
  return sections.flatMap((section) => {
    const part = splitHeaders(section.replace(/^\r?\n/, ''));
    return listParts(part.headers, part.body);
  });
}

function splitHeaders(text: string): { headers: Map<string, string>; body: string } {
  const [head = '', ...rest] = text.split(/\r?\n\r?\n/);
  // A line that begins with white space continues the previous one.
  const lines = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())];
  });
  return { headers: new Map(headers), body: rest.join('\r\n\r\n') };
}

function decodeBody(body: string, encoding: string): string {
  if (/base64/i.test(encoding)) return Buffer.from(body, 'base64').toString();
  return /quoted-printable/i.test(encoding) ? decodeQuoted(body.replaceAll(/=\r?\n/g, '')) : body;
}

/** Decodes encoded words in a header (RFC 2047). White space between two of them is not part of the text. */
function decodeWords(value: string): string {
  return value
    .replaceAll(/(\?=)\s+(=\?)/g, '$1$2')
    .replaceAll(/=\?[\w-]+\?([BQ])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toUpperCase() === 'B' ? Buffer.from(text, 'base64').toString() : decodeQuoted(text.replaceAll('_', ' ')),
    );
}

function decodeQuoted(text: string): string {
  // Several bytes in sequence can be one character.
  return text.replaceAll(/(?:=[0-9A-F]{2})+/gi, (sequence) =>
    Buffer.from(sequence.replaceAll('=', ''), 'hex').toString(),
  );
}
