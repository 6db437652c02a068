import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type Committer, openRows, type Row, reader } from './committer.ts'

/** Writes in a worker thread: one message for each commit, one back when it is on disk. */
export async function workerCommitter(file: string): Promise<Committer> {
  const worker = new Worker(import.meta.filename, { workerData: { file } })
  await once(worker, 'message')
  return {
    async commit(rows) {
      worker.postMessage(rows)
      await once(worker, 'message')
    },
    read: reader(file),
  }
}

if (!isMainThread && workerData?.file) {
  const write = openRows(workerData.file)
  parentPort?.on('message', (rows: readonly Row[]) => {
    write(rows)
    parentPort?.postMessage('written')
  })
  parentPort?.postMessage('open')
}
