import { startMailbox } from './mailbox.ts';

// A separate process, independent of the service's configuration: it reads its few settings itself.
const { MAILBOX_SMTP_PORT, MAILBOX_PAGE_PORT } = process.env;

const mailbox = await startMailbox({ smtp: Number(MAILBOX_SMTP_PORT || 0), page: Number(MAILBOX_PAGE_PORT || 0) });
console.log(JSON.stringify({ smtp: mailbox.smtpUrl, page: mailbox.pageUrl }));

let isStopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (isStopping) return;
    isStopping = true;
    void mailbox.stop().then(() => process.exit(0));
  });
}
