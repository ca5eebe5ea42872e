/** The codes of JSON-RPC that the transport itself answers with. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
/** What JSON-RPC leaves to the server: here, that the HTTP request around a message is not in order. */
export const TRANSPORT_ERROR = -32_000;

/** A message that is refused before it reaches the server: an HTTP status, and a JSON-RPC error. */
export class McpTransportError extends Error {
  readonly status: number;
  readonly code: number;
  readonly data: unknown;
  /** Of the request that is refused, where it could be read. */
  readonly id: string | number | null;

  constructor(status: number, code: number, message: string, data?: unknown, id: string | number | null = null) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.data = data;
    this.id = id;
  }

  /** As it is sent. */
  get body(): object {
    const { code, message, data, id } = this;
    return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
}
