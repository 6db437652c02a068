import { extname } from 'node:path'
import { files } from '../../packages/millrace/dist/page/files.js'
import type { Table } from './results.ts'
import { rowOf } from './results.ts'

/** No more than this is to be sent, in KB of 1,000 bytes. */
const limitKb = 60

/** The files of the page, as they go over the wire. */
export function measureSize(): Table {
  const sizes = files.map(({ path, gzip }) => ({ path, kb: Buffer.from(gzip, 'base64').length / 1000 }))
  const sum = sizes.reduce((total, { kb }) => total + kb, 0)
  return {
    name: 'size',
    title: 'What is sent, gzipped',
    rows: [
      ...sizes.map(({ path, kb }) => rowOf(path, plainName(path), [{ kb }])),
      rowOf('ours', 'all of it', [{ kb: sum }]),
      rowOf('limit', 'the limit', [{ kb: limitKb }]),
    ],
  }
}

/** Without the hash of its content, which is another with every change. */
function plainName(path: string): string {
  const ending = extname(path)
  return path.slice(0, -ending.length).replace(/-[\w-]{8}$/, '') + ending
}
