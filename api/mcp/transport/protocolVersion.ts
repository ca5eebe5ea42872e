import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import type { Context } from '../../context.ts';
import { getHeader, McpTransportError, TRANSPORT_ERROR } from './message.ts';

/*
 * Versions of the MCP specification that /mcp serves: 2025-11-25 and the earlier ones that the SDK supports, in
 * sessions, and 2026-07-28 without sessions (stateless.ts).
 */

/**
 * Checks the version header, which repeats the negotiated version. Clients of the earliest versions send none.
 * @throws McpTransportError 400
 */
export function requireSupportedVersion(ctx: Context): void {
  const version = getHeader(ctx, 'mcp-protocol-version');
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version.trim())) return;
  const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
  throw new McpTransportError(
    400,
    TRANSPORT_ERROR,
    `MCP-Protocol-Version is not supported: use ${known}, or 2026-07-28 with POST.`,
  );
}
