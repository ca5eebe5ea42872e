import type { ComponentChildren, VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';
import { getBrand } from '../brand.ts';
import { CONNECT as t } from '../connectTexts.ts';
import { CopyText } from './copyText.tsx';

/** Instructions for connecting the most common assistants to the MCP server. */
export function ConnectInstructions(): VNode {
  const address = `${config.BASE_URL}/mcp`;
  const { slug } = getBrand();
  const cursor = { url: address };
  const vsCode = { type: 'http', url: address };
  const localNote = isLocalAddress(address) ? ` ${t.localAddress()}` : null;
  return (
    <>
      <p>{t.addUrl({ link: '/docs/assistants/' })}</p>
      <CopyText id="mcp-address" text={address} label={t.address()} />
      <Assistant name="Claude">
        <p>
          {t.claude()}
          {localNote}
        </p>
      </Assistant>
      <Assistant name="ChatGPT">
        <p>
          {t.chatGpt()}
          {localNote}
        </p>
      </Assistant>
      <Assistant name="Cursor">
        <p>
          <a class="button" href={buildCursorLink(slug, cursor)}>
            {t.addTo({ assistant: 'Cursor' })}
          </a>
        </p>
        <p>{t.orAddToFile({ file: '~/.cursor/mcp.json' })}</p>
        <CopyText
          id="mcp-cursor"
          text={JSON.stringify({ mcpServers: { [slug]: cursor } })}
          label={t.settingsFor({ assistant: 'Cursor' })}
        />
      </Assistant>
      <Assistant name="Claude Code">
        <CopyText
          id="mcp-claude-code"
          text={`claude mcp add --scope user --transport http ${slug} ${address}`}
          label={t.commandFor({ assistant: 'Claude Code' })}
        />
        <p>{t.enterMcp()}</p>
      </Assistant>
      <Assistant name="Codex">
        <CopyText
          id="mcp-codex"
          text={`codex mcp add ${slug} --url ${address}`}
          label={t.commandFor({ assistant: 'Codex' })}
        />
      </Assistant>
      <Assistant name="VS Code">
        <p>
          <a class="button" href={buildVsCodeLink(slug, vsCode)}>
            {t.addTo({ assistant: 'VS Code' })}
          </a>
        </p>
        <p>{t.orAddToFile({ file: '.vscode/mcp.json' })}</p>
        <CopyText
          id="mcp-vs-code"
          text={JSON.stringify({ servers: { [slug]: vsCode } })}
          label={t.settingsFor({ assistant: 'VS Code' })}
        />
      </Assistant>
      <Assistant name={t.others()}>
        <p>{t.othersHow()}</p>
      </Assistant>
    </>
  );
}

/** Builds a link that opens Cursor, which asks whether to add the server. */
function buildCursorLink(name: string, settings: object): string {
  const base64 = Buffer.from(JSON.stringify(settings)).toString('base64');
  return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name, config: base64 }).toString()}`;
}

/** Builds a link that opens VS Code, which asks whether to add the server. */
function buildVsCodeLink(name: string, settings: object): string {
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...settings }))}`;
}

/** Instructions for one assistant, opened by its name. */
function Assistant({ name, children }: { name: string; children: ComponentChildren }): VNode {
  return (
    <details>
      <summary>{name}</summary>
      {children}
    </details>
  );
}

function isLocalAddress(address: string): boolean {
  return /^(localhost|.+\.localhost|127\..+|\[::1\])$/.test(new URL(address).hostname);
}
