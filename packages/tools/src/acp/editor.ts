import type { AgentContext, ClientCapabilities, ReadTextFileRequest } from '@agentclientprotocol/sdk'
import type { WorkspaceClient } from '../workspace-client.ts'

/** The files and terminals of the editor, as far as it offers them. */
export function editorWorkspace(
  client: AgentContext,
  { sessionId, cwd, capabilities }: { sessionId: string; cwd: string; capabilities: ClientCapabilities },
): WorkspaceClient {
  const { fs, terminal } = capabilities
  return {
    roots: [cwd],
    ...(fs?.readTextFile && {
      async readTextFile(path, { signal, ...part }) {
        const params: ReadTextFileRequest = { sessionId, path, ...part }
        const { content } = await client.request('fs/read_text_file', params, cancelBy(signal))
        return content
      },
    }),
    ...(fs?.writeTextFile && {
      async writeTextFile(path, content, { signal }) {
        await client.request('fs/write_text_file', { sessionId, path, content }, cancelBy(signal))
      },
    }),
    ...(terminal && {
      createTerminal: ({ args, ...command }) =>
        client.createTerminal({ sessionId, ...command, args: [...args] }),
    }),
  }
}

const cancelBy = (cancellationSignal: AbortSignal) => ({ cancellationSignal, stopWaitingOnCancel: true })
