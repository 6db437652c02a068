import { permissionFile } from './permission-file.ts'

// Adds `count` rules to a file, one after the other, and says so of each: run as a process of its own.
const [path = '', name = '', count = '0'] = process.argv.slice(2)
const memory = permissionFile(path)
for (let n = 0; n < Number(count); n++) {
  await memory.add([`${name}_${n}`])
  process.stdout.write(`${n}\n`)
}
