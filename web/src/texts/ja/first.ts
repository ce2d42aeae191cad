// What the shell and shared parts show, in one file, since every page needs it.
import common from './common.json';
import shell from './shell.json';
import login from './login.json';
import parts from './parts.json';

export default { common, shell, login, parts };
