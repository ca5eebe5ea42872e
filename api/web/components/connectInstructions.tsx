import type { VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';

/** Instructions for connecting the most common assistants to the MCP server. */
export function ConnectInstructions(): VNode {
  const address = `${config.BASE_URL}/mcp`;
  const cursor = JSON.stringify({ mcpServers: { genmeter: { url: address } } });
  return (
    <>
      <p>Add this URL to your assistant as a remote MCP server. It opens a page where you approve access.</p>
      <p>
        <code class="secret">{address}</code>
      </p>
      <details>
        <summary>Claude</summary>
        <p>
          In claude.ai or Claude Desktop, open Settings, Connectors, Add custom connector, and paste the URL.
          {isLocalAddress(address) ? LOCAL_ADDRESS_NOTE : null}
        </p>
      </details>
      <details>
        <summary>ChatGPT</summary>
        <p>
          Open Settings, Apps &amp; Connectors, Advanced, and turn on developer mode. Then choose Create, paste the URL,
          and select OAuth.
          {isLocalAddress(address) ? LOCAL_ADDRESS_NOTE : null}
        </p>
      </details>
      <details>
        <summary>Cursor</summary>
        <p>
          Add this to <code>~/.cursor/mcp.json</code>:
        </p>
        <p>
          <code class="secret">{cursor}</code>
        </p>
      </details>
      <details>
        <summary>Claude Code</summary>
        <p>
          <code class="secret">claude mcp add --scope user --transport http genmeter {address}</code>
        </p>
        <p>
          Then enter <code>/mcp</code> in Claude Code to sign in.
        </p>
      </details>
    </>
  );
}

const LOCAL_ADDRESS_NOTE = ' It requires a public https URL, and this service runs at a local address.';

function isLocalAddress(address: string): boolean {
  return /^(localhost|.+\.localhost|127\..+|\[::1\])$/.test(new URL(address).hostname);
}
