import { config } from '../../lib/config.ts';
import { decryptText, deriveKey, encryptText } from '../../lib/encryption.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import { isUuid } from '../../lib/uuid.ts';
import type { Invitation } from '../../tables/Invitation.ts';

/** An invitation, and the message with which it was sent: the next one has another link. */
type SentAs = Pick<Invitation, 'uuid' | 'sent_count'>;

const getKey = () => deriveKey(getServerSecret(), 'invitation');

/** Builds the address of the page that accepts an invitation. */
export function buildInvitationUrl({ uuid, sent_count }: SentAs): string {
  const token = encryptText(getKey(), `${uuid} ${sent_count}`).toString('base64url');
  return `${config.BASE_URL}/account/invitations/${token}/`;
}

/** Reads the token of an address; null if this service has not built it. */
export function readInvitationToken(token: string): SentAs | null {
  const [uuid = '', count] = decryptToken(token).split(' ');
  return isUuid(uuid) ? { uuid, sent_count: Number(count) } : null;
}

function decryptToken(token: string): string {
  try {
    return decryptText(getKey(), Buffer.from(token, 'base64url'));
  } catch {
    return '';
  }
}
