const { writeFileSync } = require('node:fs');
const path = require('node:path');

// Runs a program until it ends, and writes its code cache, with all functions that it used: `node [flags of the
// program] writeCodeCache.cjs FOLDER NAME [arguments]`. Without a configuration the program loads all modules, reports
// what is missing, and exits.
const [folder, name] = process.argv.splice(2, 2);
require(path.join(folder, 'loadBundle.cjs'))(name, (script) => {
  process.on('exit', () => writeFileSync(path.join(folder, `${name}.js.cache`), script.createCachedData()));
});
