import { runMain } from '../../../shared/lib/runMain.ts';
import { runAdminCommand } from './runAdminCommand.ts';

/** Commands for staff: `npm run admin -- <command>`, in a deployment `node dist/worker/cli/admin/main.js <command>`. */
runMain(async () => {
  process.exitCode = await runAdminCommand(process.env, process.argv.slice(2), process);
});
