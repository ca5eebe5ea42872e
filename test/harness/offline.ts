/** Matches the output of npm and other programs that cannot reach the registry or another server. */
export const OFFLINE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED|ECONNRESET)\b/;
