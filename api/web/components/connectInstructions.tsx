import type { ComponentChildren, VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';
import { getBrand } from '../brand.ts';
import { CopyText } from './copyText.tsx';

/** Instructions for connecting the most common assistants to the MCP server. */
export function ConnectInstructions(): VNode {
  const address = `${config.BASE_URL}/mcp`;
  const { slug } = getBrand();
  const cursor = { url: address };
  const vsCode = { type: 'http', url: address };
  const localNote = isLocalAddress(address) ? LOCAL_ADDRESS_NOTE : null;
  return (
    <>
      <p>Add this URL to your assistant as a remote MCP server. It opens a page where you approve access.</p>
      <CopyText id="mcp-address" text={address} label="the address" />
      <Assistant name="Claude">
        <p>
          In claude.ai or Claude Desktop, open Settings, Connectors, Add custom connector, and paste the URL.
          {localNote}
        </p>
      </Assistant>
      <Assistant name="ChatGPT">
        <p>
          Open Settings, Apps &amp; Connectors, Advanced, and turn on developer mode. Then choose Create, paste the URL,
          and select OAuth.
          {localNote}
        </p>
      </Assistant>
      <Assistant name="Cursor">
        <p>
          <a class="button" href={buildCursorLink(slug, cursor)}>
            Add to Cursor
          </a>
        </p>
        <p>
          Or add this to <code>~/.cursor/mcp.json</code>:
        </p>
        <CopyText
          id="mcp-cursor"
          text={JSON.stringify({ mcpServers: { [slug]: cursor } })}
          label="the settings for Cursor"
        />
      </Assistant>
      <Assistant name="Claude Code">
        <CopyText
          id="mcp-claude-code"
          text={`claude mcp add --scope user --transport http ${slug} ${address}`}
          label="the command for Claude Code"
        />
        <p>
          Then enter <code>/mcp</code> in Claude Code to sign in.
        </p>
      </Assistant>
      <Assistant name="Codex">
        <CopyText id="mcp-codex" text={`codex mcp add ${slug} --url ${address}`} label="the command for Codex" />
      </Assistant>
      <Assistant name="VS Code">
        <p>
          <a class="button" href={buildVsCodeLink(slug, vsCode)}>
            Add to VS Code
          </a>
        </p>
        <p>
          Or add this to <code>.vscode/mcp.json</code>:
        </p>
        <CopyText
          id="mcp-vs-code"
          text={JSON.stringify({ servers: { [slug]: vsCode } })}
          label="the settings for VS Code"
        />
      </Assistant>
      <Assistant name="Other assistants">
        <p>
          Choose a remote MCP server with the transport “Streamable HTTP”, enter the URL, and sign in with OAuth when
          asked.
        </p>
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

const LOCAL_ADDRESS_NOTE = ' It requires a public https URL, and this service runs at a local address.';

function isLocalAddress(address: string): boolean {
  return /^(localhost|.+\.localhost|127\..+|\[::1\])$/.test(new URL(address).hostname);
}
