import { cpSync } from 'node:fs';

/** Files and folders that the compiled service reads at run time. The compiler copies only modules. */
const ASSETS = ['api/web/styles', 'api/web/scripts', 'api/mcp/apps/page'];

// Copies them into the folder that is named on the command line, on any platform.
const [folder] = process.argv.slice(2);
for (const path of ASSETS) cpSync(path, `${folder}/${path}`, { recursive: true });
