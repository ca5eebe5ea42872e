/** Reasons why an attempt got no status, in words that owners of endpoints and staff can search for. */
const REASONS: readonly [RegExp, string][] = [
  [/^EPRIVATE$/, 'private address'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ECONNABORTED)$/, 'reset'],
  [
    /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|EPROTO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|CRL_|INVALID_CA)/,
    'TLS',
  ],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_INFO|UND_ERR_RES)/, 'invalid response'],
  [/^(ERR_INVALID_URL|UND_ERR_INVALID_ARG)$/, 'invalid address'],
];

interface NetworkError extends Error {
  code?: string;
  syscall?: string;
  errors?: NetworkError[];
}

/** Describes an error of an attempt in one or two words. */
export function describeFailure(error: unknown): string {
  const { name, code, syscall, errors } = error as NetworkError;
  // Codes of the resolver overlap with those of connections.
  if (syscall !== undefined && /^(query|getaddrinfo)/.test(syscall)) return 'name not resolved';
  if (name === 'HTTPParserError') return 'invalid response';
  const known = REASONS.find(([codes]) => code !== undefined && codes.test(code));
  if (known !== undefined) return known[1];
  // The name has several addresses, and each failed.
  if (errors?.[0] !== undefined) return describeFailure(errors[0]);
  return 'connection failed';
}
