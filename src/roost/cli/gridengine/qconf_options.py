"""The options of `qconf`."""

from __future__ import annotations

from typing import Final

from roost.cli.gridengine.option_tables import options

OPTIONS: Final = options(
    """
aattr obj_nm attr_nm val obj_id_list | add to a list attribute of an object
Aattr obj_nm fname obj_id_list | add to a list attribute of an object
acal calendar_name | add a new calendar
Acal fname | add a new calendar from file
ackpt ckpt_name | add a checkpointing interface definition
Ackpt fname | add a checkpointing interface definition from file
aconf host_list | add configurations
Aconf file_list | add configurations from file_list
ae [exec_server_template] | add an exec host using a template
Ae fname | add an exec host from file
ah hostname_list | add an administrative host
ahgrp [group] | add new host group entry
Ahgrp file | add new host group entry from file
am user_list | add user to manager list
ao user_list | add user to operator list
ap pe-name | add a new parallel environment
Ap fname | add a new parallel environment from file
aprj | add project
Aprj fname | add project from file
aq [queue_name] | add a new cluster queue
Aq fname | add a queue from file
arqs [rqs_list] | add resource quota set(s)
Arqs fname | add resource quota set(s) from file
as hostname_list | add a submit host
astnode node_shares_list | add sharetree node(s)
astree | create/modify the sharetree
Astree fname | create/modify the sharetree from file
at thread_name | resume the scheduling runs (thread scheduler)
au user_list listname_list | add user(s) to userset list(s)
Au fname | add userset from file
auser | add user
Auser fname | add user from file
clearusage | clear the usage of all users and projects
cq wc_queue_list | clean queues: jobs in them are removed at once, whatever their machines say
dattr obj_nm attr_nm val obj_id_list | delete from a list attribute of an object
Dattr obj_nm fname obj_id_list | delete from a list attribute of an object
dcal calendar_name | delete calendar
dckpt ckpt_name | delete checkpointing interface definition
dconf host_list | delete local configurations
de host_list | delete exec host
dh host_list | delete administrative host
dhgrp group | delete host group entry
dm user_list | delete user from manager list
do user_list | delete user from operator list
dp pe-name | delete parallel environment
dprj project_list | delete project
dq queue | delete queue
drqs rqs_list | delete resource quota set(s)
ds host_list | delete submit host
dstnode node_list | delete sharetree node(s)
dstree | delete the sharetree
du user_list listname_list | delete user(s) from userset list(s)
dul listname_list | delete userset list(s) completely
duser user_list | delete user(s)
ke host_list | stop the daemons of machines until `roost up` on them; their jobs continue
kej host_list | delete the jobs of machines, and stop their daemons
kec evid_list | kill event client; pools have none
km | stop the queue and the central manager until `roost up`; running jobs continue
ks | stop the scheduling runs until `qconf -at scheduler`, or a restart of the central manager
kt thread_name | stop the scheduling runs (thread scheduler)
mattr obj_nm attr_nm val obj_id_list | modify an attribute (or element in a sublist) of an object
Mattr obj_nm fname obj_id_list | modify an attribute (or element in a sublist) of an object
mc | modify complex attributes
Mc fname | modify complex attributes from file
mcal calendar_name | modify calendar
Mcal fname | modify calendar from file
mckpt ckpt_name | modify a checkpointing interface definition
Mckpt fname | modify a checkpointing interface definition from file
mconf [host_list|global] | modify configurations
Mconf file_list | modify configurations from file_list
me server | modify exec server
Me fname | modify exec server from file
mhgrp group | modify host group entry
Mhgrp file | modify host group entry from file
mp pe-name | modify a parallel environment
Mp fname | modify a parallel environment from file
mprj project | modify a project
Mprj fname | modify project from file
mq queue | modify a queue
Mq fname | modify a queue from file
mrqs [rqs_list] | modify resource quota set(s)
Mrqs fname [rqs_list] | modify resource quota set(s) from file
msconf | modify scheduler configuration
Msconf fname | modify scheduler configuration from file
mstnode node_shares_list | modify sharetree node(s)
mstree | modify/create the sharetree
Mstree fname | modify/create the sharetree from file
mu listname_list | modify the given userset list
Mu fname | modify userset from file
muser user | modify a user
Muser fname | modify a user from file
purge obj_nm3 attr_nm objectname | deletes attribute from object_instance
rattr obj_nm attr_nm val obj_id_list | replace a list attribute of an object
Rattr obj_nm fname obj_id_list | replace a list attribute of an object
rsstnode node_list | show sharetree node(s) and its children
sc | show complex attributes
scal calendar_name | show given calendar
scall | show a list of all calendar names
sckpt ckpt_name | show checkpointing interface definition
sckptl | show all checkpointing interface definitions
sconf [host_list|global] | show configurations
sconfl | show a list of all local configurations
sds | show detached settings
se server | show given exec server
secl | show event client list; pools have none
sel | show a list of all exec servers
sh | show a list of all administrative hosts
shgrp group | show host group
shgrpl | show host group list
shgrp_resolved group | show host group with resolved hostlist
shgrp_tree group | show host group and used hostgroups as tree
sm | show a list of all managers
so | show a list of all operators
sobjl obj_nm2 attr_nm val | show objects which match the given value
sp pe-name | show a parallel environment
spl | show all parallel environments
sprj project | show a project
sprjl | show a list of all projects
sq [wc_queue_list] | show the given queue, or what a new one begins with
sql | show a list of all queues
srqs [rqs_list] | show resource quota set(s)
srqsl | show resource quota set list
ss | show a list of all submit hosts
ssconf | show scheduler configuration
sss | show the host of the scheduler
sst | show a formatted sharetree
sstnode node_list | show sharetree node(s)
sstree | show the sharetree
su listname_list | show the given userset list
sul | show a list of all userset lists
suser user_list | show user(s)
suserl | show a list of all users
tsm | trigger scheduler monitoring
""",
)
