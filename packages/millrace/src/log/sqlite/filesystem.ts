import { readFileSync, realpathSync, statfsSync } from 'node:fs'

// WAL keeps its index in memory that all processes map. Over a network each machine has its own
// copy, and two machines writing at the same time corrupt the file (https://sqlite.org/wal.html,
// "all processes using a database must be on the same host").

/** `f_type` of statfs(2), as in linux/magic.h and the manual page. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x564c, 'NCP'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
])

const fuse = 0x65735546

/**
 * FUSE can be anything: a disk shared into a container, or a network. The mount type distinguishes
 * these, as in `fuse.sshfs`.
 */
const networkFuse =
  /^fuse\.(sshfs|s3fs|s3ql|goofys|mount-s3|gcsfuse|blobfuse2?|rclone|glusterfs|ceph(-fuse)?|davfs2?|juicefs|curlftpfs)\b/

/**
 * The name of a network filesystem; undefined for a local one, and for those that cannot be
 * identified: 9p and plain FUSE are how containers and sandboxes see ordinary disks.
 */
export function networkOf(type: number, mountType: string | undefined): string | undefined {
  // Node returns the field as a signed number on some platforms.
  const known = networkTypes.get(type >>> 0)
  if (known) return known
  return type === fuse && mountType && networkFuse.test(mountType) ? mountType.slice(5) : undefined
}

/** The network filesystem that a folder is on, as far as the system reports it. Only Linux does. */
export function networkOfFolder(folder: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const { type } = statfsSync(folder)
    return networkOf(type, type === fuse ? mountTypeOf(folder) : undefined)
  } catch {
    // Problems with the folder show when the file is opened.
    return undefined
  }
}

/**
 * Format, from proc(5): `36 35 98:0 /root /mnt/point rw,noatime master:1 - fuse.sshfs user@host:
 * rw`. The last of the longest mount points wins.
 */
function mountTypeOf(folder: string): string | undefined {
  return typeInMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'), realpathSync(folder))
}

export function typeInMountinfo(mountinfo: string, folder: string): string | undefined {
  let found: { readonly point: string; readonly type: string | undefined } | undefined
  for (const line of mountinfo.split('\n')) {
    const [mount = '', source = ''] = line.split(' - ')
    const point = (mount.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, octal) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    const holds = point === '/' || folder === point || folder.startsWith(`${point}/`)
    if (point && holds && point.length >= (found?.point.length ?? 0))
      found = { point, type: source.split(' ')[0] }
  }
  return found?.type
}
