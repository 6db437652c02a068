import { permissionFile } from './permission-file.ts'

// Run as a child process: adds `count` rules to a file, and prints each.
const [path = '', name = '', count = '0'] = process.argv.slice(2)
const memory = permissionFile(path)
for (let n = 0; n < Number(count); n++) {
  await memory.add([`${name}_${n}`])
  process.stdout.write(`${n}\n`)
}
