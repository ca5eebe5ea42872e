const { readFileSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { Script } = require('node:vm');

/**
 * Runs a bundled program from its V8 code cache. Compiles the text if there is no cache, or one of another V8.
 * WRITE_CODE_CACHE writes the cache when the process ends, with all functions compiled that it used.
 */
module.exports = (name) => {
  const filename = path.join(__dirname, `${name}.bundle.cjs`);
  const cache = `${filename}.cache`;
  // The bundler escapes everything beyond ASCII.
  const source = Module.wrap(readFileSync(filename, 'latin1'));
  const script = new Script(source, { filename, cachedData: readIfThere(cache) });
  if (process.env.WRITE_CODE_CACHE) process.on('exit', () => writeFileSync(cache, script.createCachedData()));
  const bundle = new Module(filename);
  bundle.filename = filename;
  script.runInThisContext()(bundle.exports, Module.createRequire(filename), bundle, filename, __dirname);
};

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
