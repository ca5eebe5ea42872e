import type { ParsedMessage } from './parseMessage.ts';

/** A message in the mailbox. */
export interface MailboxMessage extends ParsedMessage {
  id: number;
  to: string;
  receivedAt: Date;
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#202124}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #ddd}
iframe{width:100%;height:40rem;border:1px solid #ddd}pre{white-space:pre-wrap;background:#f6f6f4;padding:1rem}`;

/** Headers that the page of a message shows. */
const SHOWN_HEADERS = ['From', 'To', 'Reply-To', 'Date', 'Message-ID', 'List-Unsubscribe', 'Auto-Submitted'];

/** Renders the list of messages, newest first. */
export function renderList(messages: readonly MailboxMessage[]): string {
  const rows = messages.map(
    ({ id, to, receivedAt, headers }) =>
      `<tr><td>${receivedAt.toISOString().slice(0, 19).replace('T', ' ')}</td><td>${escapeHtml(to)}</td>
       <td><a href="/messages/${id}/">${escapeHtml(headers.get('subject') ?? '(no subject)')}</a></td></tr>`,
  );
  const table =
    rows.length === 0
      ? '<p>No messages yet. Those that the service sends appear here.</p>'
      : `<table><thead><tr><th>Time (UTC)</th><th>To</th><th>Subject</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  return renderPage('Messages', `<h1>Messages</h1>${table}`);
}

/** Renders one message: its headers, its HTML in a sandbox, and its text. */
export function renderMessage({ id, headers, text }: MailboxMessage): string {
  const subject = headers.get('subject') ?? '(no subject)';
  const rows = SHOWN_HEADERS.flatMap((name) => {
    const value = headers.get(name.toLowerCase());
    return value === undefined ? [] : [`<tr><th>${name}</th><td>${escapeHtml(value)}</td></tr>`];
  });
  return renderPage(
    subject,
    `<p><a href="/">All messages</a></p><h1>${escapeHtml(subject)}</h1><table>${rows.join('')}</table>
     <h2>HTML</h2>
     <iframe title="HTML" src="/messages/${id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>
     <h2>Text</h2><pre>${escapeHtml(text)}</pre>`,
  );
}

/** Makes the links of a message open in a new window, as the frame around it may not be left. */
export function withNewWindows(html: string): string {
  return html.replace('<head>', '<head><base target="_blank">');
}

function renderPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>${STYLE}</style></head><body><main>${body}</main></body></html>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
