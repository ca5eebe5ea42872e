const Module = require('node:module');
const path = require('node:path');

/**
 * Lets mocha's processes load tests, and what the harness gives to mocha, from the bundle of the run
 * (`moduleBundle.ts`), by the names of their sources.
 */
const bundle = require(path.join(process.env.TEST_FOLDER, 'tests/modules.bundle.cjs'));

Module._extensions['.ts'] = (module, file) => {
  const name = path.relative(process.cwd(), file).replaceAll('\\', '/');
  module.exports = bundle[name]();
};

module.exports = require('./testLogs.ts');
