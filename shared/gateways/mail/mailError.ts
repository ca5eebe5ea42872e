/**
 * Fault of a failed attempt:
 * - `rejected`: the server rejects this message or its recipient, in every attempt.
 * - `deferred`: the server rejects this message for the moment.
 * - `unavailable`: the server, or the sender's access to it, does not work. All messages are affected.
 */
export type MailFault = 'rejected' | 'deferred' | 'unavailable';

/** A message that was not sent, or whose outcome is unknown. */
export class MailError extends Error {
  readonly fault: MailFault;

  constructor(fault: MailFault, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.fault = fault;
  }
}

/** Properties of the errors of nodemailer. */
interface SmtpError extends Error {
  code?: string;
  /** Status of the server's response. */
  responseCode?: number;
  /** SMTP command that failed; `API` for a message that was not sent at all. */
  command?: string;
}

const MESSAGE_ERRORS = new Set(['EENVELOPE', 'EMESSAGE']);

/** Classifies an error of nodemailer. */
export function toMailError(error: SmtpError): MailError {
  const { code = error.name, responseCode, command = '' } = error;
  const status = responseCode === undefined ? '' : ` ${responseCode}`;
  // Without the server's text, which usually contains the recipient's address.
  return new MailError(classify(error), `${code}${command === '' ? '' : ` at ${command}`}${status}`, { cause: error });
}

function classify({ code = '', responseCode, command }: SmtpError): MailFault {
  if (!MESSAGE_ERRORS.has(code)) return 'unavailable';
  if (command === 'API') return 'rejected';
  // A sender that is rejected concerns all messages, and the operator can correct it.
  if (command === 'MAIL FROM' || responseCode === undefined || responseCode === 421) return 'unavailable';
  // 503 is a wrong order of commands, and 530 a missing authentication.
  return responseCode >= 500 && responseCode !== 503 && responseCode !== 530 ? 'rejected' : 'deferred';
}
