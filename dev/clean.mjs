import { rmSync } from 'node:fs';

// Removes the folders that are named on the command line, on any platform.
for (const folder of process.argv.slice(2)) rmSync(folder, { recursive: true, force: true });
